using System.Collections.Generic;
using System.IO;
using UnityEngine;

namespace Lanternfall.Core
{
    /// <summary>Writes one key per line. Small on purpose: a save is under a kilobyte.</summary>
    public static class SaveSystem
    {
        private const char Separator = '\t';

        private static readonly List<ISaveable> parts = new List<ISaveable>();

        public static void Register(ISaveable part)
        {
            if (!parts.Contains(part))
            {
                parts.Add(part);
            }
        }

        public static void Forget(ISaveable part)
        {
            parts.Remove(part);
        }

        public static void Save(int slot)
        {
            var lines = new List<string>();
            lines.Add("clock" + Separator + GameClock.Elapsed.ToString("R"));
            foreach (ISaveable part in parts)
            {
                lines.Add(part.SaveKey + Separator + part.Capture());
            }
            File.WriteAllLines(SlotPath(slot), lines);
        }

        public static bool Load(int slot)
        {
            string path = SlotPath(slot);
            if (!File.Exists(path))
            {
                return false;
            }
            foreach (string line in File.ReadAllLines(path))
            {
                int cut = line.IndexOf(Separator);
                if (cut > 0)
                {
                    Dispatch(line.Substring(0, cut), line.Substring(cut + 1));
                }
            }
            return true;
        }

        private static void Dispatch(string key, string text)
        {
            if (key == "clock")
            {
                GameClock.Rewind(float.Parse(text));
                return;
            }
            foreach (ISaveable part in parts)
            {
                if (part.SaveKey == key)
                {
                    part.Restore(text);
                }
            }
        }

        private static string SlotPath(int slot)
        {
            return Path.Combine(Application.persistentDataPath, "night" + slot + ".txt");
        }
    }
}
