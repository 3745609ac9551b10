using Lanternfall.Core;
using Lanternfall.Hero;
using UnityEngine;

namespace Lanternfall.Enemies
{
    /// <summary>The one enemy that loves the light: it circles the lantern and drinks its oil.</summary>
    public class AshMoth : EnemyBrain
    {
        [SerializeField] private float thirst = 1.5f;
        [SerializeField] private float orbit = 2.5f;

        private float angle;

        protected override void Think(LanternLight lantern)
        {
            if (!lantern.IsLit)
            {
                base.Think(lantern);
                return;
            }
            mood = EnemyMood.Hunting;
            float delta = GameClock.Step();
            angle += delta * 2f;
            Vector3 offset = new Vector3(Mathf.Cos(angle), 0.8f, Mathf.Sin(angle)) * orbit;
            transform.position = lantern.transform.position + offset;
            if (!lantern.SpendOil(thirst * delta))
            {
                Banish();
            }
        }
    }
}
