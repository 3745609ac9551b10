using Lanternfall.Core;
using UnityEngine;

namespace Lanternfall.Hero
{
    /// <summary>The lantern: a light, an oil gauge, and the only weapon in the game.</summary>
    public class LanternLight : MonoBehaviour, ISaveable
    {
        [SerializeField] private Light glow;
        [SerializeField] private AudioCue humCue;
        [SerializeField] private float capacity = 100f;
        [SerializeField] private float burnPerSecond = 0.7f;
        [SerializeField] private float reach = 6f;

        private float oil;
        private bool lit;

        public bool IsLit => lit && oil > 0f;

        public float OilFraction => oil / capacity;

        public string SaveKey => "hero.oil";

        private void OnEnable()
        {
            oil = capacity;
            SaveSystem.Register(this);
        }

        private void Update()
        {
            if (IsLit)
            {
                SpendOil(burnPerSecond * GameClock.Step());
            }
            glow.intensity = IsLit ? 0.4f + OilFraction : 0f;
        }

        public void Toggle()
        {
            lit = !lit;
            if (IsLit)
            {
                humCue.PlayAt(transform.position);
            }
        }

        public void Snuff()
        {
            lit = false;
        }

        public bool SpendOil(float amount)
        {
            if (amount > oil)
            {
                Snuff();
                return false;
            }
            oil -= amount;
            return true;
        }

        public void AddOil(float amount)
        {
            oil = Mathf.Min(capacity, oil + amount);
        }

        /// <summary>True when the given point stands in the lantern's light.</summary>
        public bool Reaches(Vector3 point)
        {
            return IsLit && Vector3.Distance(transform.position, point) < reach * (0.5f + OilFraction);
        }

        public string Capture()
        {
            return oil.ToString("R");
        }

        public void Restore(string text)
        {
            oil = float.Parse(text);
        }
    }
}
