using System;
using UnityEngine;

namespace Lanternfall.Items
{
    [Serializable]
    public class LootEntry
    {
        public GameObject prefab;
        public int weight = 1;
    }

    /// <summary>Weighted drops. A table may fall back on a parent table.</summary>
    [CreateAssetMenu(menuName = "Lanternfall/Loot Table")]
    public class LootTable : ScriptableObject
    {
        [SerializeField] private LootTable parent;
        [SerializeField] private LootEntry[] entries;
        [SerializeField] private int nothingWeight = 3;

        public void Roll(Vector3 position)
        {
            LootEntry entry = Pick();
            if (entry != null)
            {
                Instantiate(entry.prefab, position, Quaternion.identity);
            }
            else if (parent != null)
            {
                parent.Roll(position);
            }
        }

        private LootEntry Pick()
        {
            int roll = UnityEngine.Random.Range(0, TotalWeight());
            foreach (LootEntry entry in entries)
            {
                if (roll < entry.weight)
                {
                    return entry;
                }
                roll -= entry.weight;
            }
            return null;
        }

        private int TotalWeight()
        {
            int total = nothingWeight;
            foreach (LootEntry entry in entries)
            {
                total += entry.weight;
            }
            return total;
        }
    }
}
