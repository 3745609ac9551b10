using Lanternfall.Core;
using UnityEngine;

namespace Lanternfall.Hero
{
    public class HeroHealth : MonoBehaviour, ISaveable
    {
        [SerializeField] private int maximum = 100;
        [SerializeField] private LanternLight lantern;
        [SerializeField] private AudioCue hurtCue;

        private int current;

        public int Current => current;

        public float Fraction => maximum == 0 ? 0f : (float)current / maximum;

        public string SaveKey => "hero.health";

        private void OnEnable()
        {
            current = maximum;
            SaveSystem.Register(this);
        }

        private void OnDisable()
        {
            SaveSystem.Forget(this);
        }

        /// <summary>Light softens what the dark does; nothing softens a fall.</summary>
        public void ApplyDamage(DamageEvent damage)
        {
            if (damage.Kind == DamageKind.Dark && lantern.IsLit)
            {
                damage = damage.Scaled(0.25f);
            }
            current = Mathf.Max(0, current - damage.Amount);
            hurtCue.PlayAt(damage.Point);
            EventBus.RaiseHeroHurt(damage);
            if (current == 0)
            {
                Collapse();
            }
        }

        public void Mend(int amount)
        {
            current = Mathf.Min(maximum, current + amount);
        }

        private void Collapse()
        {
            lantern.Snuff();
            GameClock.Pause();
            EventBus.RaiseNightEnded();
        }

        public string Capture()
        {
            return current.ToString();
        }

        public void Restore(string text)
        {
            current = int.Parse(text);
        }
    }
}
