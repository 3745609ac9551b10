using System.Collections.Generic;
using Lanternfall.Core;
using Lanternfall.Hero;
using UnityEngine;

namespace Lanternfall.Enemies
{
    public class EnemySpawner : MonoBehaviour
    {
        [SerializeField] private EnemyBrain commonPrefab;
        [SerializeField] private EnemyBrain elderPrefab;
        [SerializeField] private HeroController hero;
        [SerializeField] private int limit = 6;
        [SerializeField] private float interval = 9f;

        private readonly List<EnemyBrain> alive = new List<EnemyBrain>();
        private float timer;

        private void OnEnable()
        {
            EventBus.NightEnded += BanishAll;
        }

        private void OnDisable()
        {
            EventBus.NightEnded -= BanishAll;
        }

        private void Update()
        {
            timer += GameClock.Step();
            alive.RemoveAll(brain => brain == null);
            if (timer < interval || alive.Count >= limit)
            {
                return;
            }
            timer = 0f;
            SpawnOne();
        }

        public void SpawnOne()
        {
            EnemyBrain prefab = GameClock.IsDeepNight ? elderPrefab : commonPrefab;
            EnemyBrain brain = Instantiate(prefab, transform.position, Quaternion.identity);
            brain.Wake(hero);
            alive.Add(brain);
        }

        public void BanishAll()
        {
            foreach (EnemyBrain brain in alive)
            {
                if (brain != null)
                {
                    brain.Banish();
                }
            }
            alive.Clear();
        }
    }
}
