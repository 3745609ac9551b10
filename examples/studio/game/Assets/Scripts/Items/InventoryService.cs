using System.Collections.Generic;
using Lanternfall.Core;
using UnityEngine;

namespace Lanternfall.Items
{
    /// <summary>The satchel: item ids and counts, nothing else.</summary>
    public class InventoryService : MonoBehaviour, ISaveable
    {
        private readonly Dictionary<string, int> counts = new Dictionary<string, int>();

        public string SaveKey => "hero.satchel";

        private void OnEnable()
        {
            SaveSystem.Register(this);
        }

        public int CountOf(string itemId)
        {
            return counts.TryGetValue(itemId, out int count) ? count : 0;
        }

        public void Add(string itemId)
        {
            counts[itemId] = CountOf(itemId) + 1;
            EventBus.RaiseItemGained(itemId);
        }

        public bool TryConsume(string itemId)
        {
            int count = CountOf(itemId);
            if (count == 0)
            {
                return false;
            }
            counts[itemId] = count - 1;
            return true;
        }

        public string Capture()
        {
            var parts = new List<string>();
            foreach (KeyValuePair<string, int> pair in counts)
            {
                parts.Add(pair.Key + "=" + pair.Value);
            }
            parts.Sort();
            return string.Join(";", parts);
        }

        public void Restore(string text)
        {
            counts.Clear();
            foreach (string part in text.Split(';'))
            {
                int cut = part.IndexOf('=');
                if (cut > 0)
                {
                    counts[part.Substring(0, cut)] = int.Parse(part.Substring(cut + 1));
                }
            }
        }
    }
}
