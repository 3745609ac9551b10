using System;

namespace Lanternfall.Core
{
    /// <summary>Loose coupling for the few things that everybody wants to know.</summary>
    public static class EventBus
    {
        public static event Action<DamageEvent> HeroHurt;
        public static event Action<string> ItemGained;
        public static event Action NightEnded;

        public static void RaiseHeroHurt(DamageEvent damage)
        {
            HeroHurt?.Invoke(damage);
        }

        public static void RaiseItemGained(string itemId)
        {
            ItemGained?.Invoke(itemId);
        }

        public static void RaiseNightEnded()
        {
            NightEnded?.Invoke();
        }

        public static void Clear()
        {
            HeroHurt = null;
            ItemGained = null;
            NightEnded = null;
        }
    }
}
