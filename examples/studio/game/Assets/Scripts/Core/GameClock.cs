using UnityEngine;

namespace Lanternfall.Core
{
    /// <summary>
    /// One clock for the whole game. Night falls, the world slows down while a
    /// menu is open, and nothing but this class reads UnityEngine.Time.
    /// </summary>
    public static class GameClock
    {
        public const float NightLength = 420f;

        private static float scale = 1f;
        private static float elapsed;
        private static int lastFrame = -1;

        public static float Elapsed => elapsed;

        public static bool IsDeepNight => elapsed > NightLength * 0.6f;

        /// <summary>Seconds since the last frame; moves the night on once a frame.</summary>
        public static float Step()
        {
            float delta = Time.deltaTime * scale;
            if (Time.frameCount != lastFrame)
            {
                lastFrame = Time.frameCount;
                elapsed += delta;
            }
            return delta;
        }

        public static void Pause()
        {
            scale = 0f;
        }

        public static void Resume()
        {
            scale = 1f;
        }

        public static void Rewind(float toSeconds)
        {
            elapsed = Mathf.Clamp(toSeconds, 0f, NightLength);
        }
    }
}
