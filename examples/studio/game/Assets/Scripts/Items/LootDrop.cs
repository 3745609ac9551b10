using Lanternfall.Core;
using UnityEngine;

namespace Lanternfall.Items
{
    public class LootDrop : MonoBehaviour
    {
        [SerializeField] private string itemId = "oil_vial";
        [SerializeField] private AudioCue pickupCue;
        [SerializeField] private float lifetime = 45f;

        private void Update()
        {
            lifetime -= GameClock.Step();
            if (lifetime <= 0f)
            {
                Destroy(gameObject);
            }
        }

        public void Collect(InventoryService satchel)
        {
            satchel.Add(itemId);
            pickupCue.PlayAt(transform.position);
            Destroy(gameObject);
        }
    }
}
