using Lanternfall.Core;
using Lanternfall.Hero;
using UnityEngine;

namespace Lanternfall.World
{
    /// <summary>A checkpoint that costs oil: light it, and the night is saved.</summary>
    public class Brazier : MonoBehaviour, ISaveable
    {
        [SerializeField] private string brazierId = "brazier";
        [SerializeField] private Light flame;
        [SerializeField] private AudioCue igniteCue;
        [SerializeField] private float oilCost = 15f;

        private bool burning;

        public string SaveKey => "world." + brazierId;

        private void OnEnable()
        {
            SaveSystem.Register(this);
        }

        private void OnDisable()
        {
            SaveSystem.Forget(this);
        }

        public bool Kindle(LanternLight lantern)
        {
            if (burning || !lantern.IsLit || !lantern.SpendOil(oilCost))
            {
                return false;
            }
            burning = true;
            Show();
            igniteCue.PlayAt(transform.position);
            return true;
        }

        private void Show()
        {
            flame.enabled = burning;
        }

        public string Capture()
        {
            return burning ? "1" : "0";
        }

        public void Restore(string text)
        {
            burning = text == "1";
            Show();
        }
    }
}
