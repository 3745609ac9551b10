using Lanternfall.Core;
using Lanternfall.Hero;
using Lanternfall.Items;
using UnityEngine;

namespace Lanternfall.Enemies
{
    public enum EnemyMood
    {
        Idle,
        Hunting,
        Shying
    }

    /// <summary>Hunts the hero by ear, and keeps out of the lantern's light.</summary>
    public class EnemyBrain : MonoBehaviour
    {
        [SerializeField] protected HeroController prey;
        [SerializeField] private LootTable loot;
        [SerializeField] private AudioCue cryCue;
        [SerializeField] private float speed = 2.1f;
        [SerializeField] private int clawDamage = 8;

        protected EnemyMood mood = EnemyMood.Idle;

        private float cooldown;

        public EnemyMood Mood => mood;

        public void Wake(HeroController target)
        {
            prey = target;
            mood = EnemyMood.Hunting;
            cryCue.PlayAt(transform.position);
        }

        private void Update()
        {
            if (prey == null || !prey.IsAlive)
            {
                mood = EnemyMood.Idle;
                return;
            }
            cooldown -= GameClock.Step();
            Think(prey.Lantern);
            if (mood == EnemyMood.Hunting && Distance() < 1.2f)
            {
                Strike();
            }
        }

        protected virtual void Think(LanternLight lantern)
        {
            mood = lantern.Reaches(transform.position) ? EnemyMood.Shying : EnemyMood.Hunting;
            float sign = mood == EnemyMood.Shying ? -1f : 1f;
            Vector3 way = (prey.transform.position - transform.position).normalized;
            transform.position += way * sign * speed * GameClock.Step();
        }

        protected float Distance()
        {
            return Vector3.Distance(prey.transform.position, transform.position);
        }

        private void Strike()
        {
            if (cooldown > 0f)
            {
                return;
            }
            cooldown = 1.5f;
            HeroHealth health = prey.GetComponent<HeroHealth>();
            DamageKind kind = GameClock.IsDeepNight ? DamageKind.Dark : DamageKind.Claw;
            health.ApplyDamage(new DamageEvent(kind, clawDamage, gameObject, transform.position));
        }

        public void Banish()
        {
            loot.Roll(transform.position);
            Destroy(gameObject);
        }
    }
}
