using UnityEngine;

namespace Lanternfall.Core
{
    public enum DamageKind
    {
        Claw,
        Fall,
        Fire,
        Dark
    }

    /// <summary>Who hurt whom, how much, and where the spark should fly.</summary>
    public class DamageEvent
    {
        public readonly DamageKind Kind;
        public readonly int Amount;
        public readonly GameObject Source;
        public readonly Vector3 Point;

        public DamageEvent(DamageKind kind, int amount, GameObject source, Vector3 point)
        {
            Kind = kind;
            Amount = Mathf.Max(0, amount);
            Source = source;
            Point = point;
        }

        public DamageEvent Scaled(float factor)
        {
            return new DamageEvent(Kind, Mathf.RoundToInt(Amount * factor), Source, Point);
        }

        public static DamageEvent FromFall(GameObject body, float metres)
        {
            int amount = Mathf.FloorToInt((metres - 4f) * 6f);
            return new DamageEvent(DamageKind.Fall, amount, body, body.transform.position);
        }
    }
}
