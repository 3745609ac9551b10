using UnityEngine;

namespace Lanternfall.Core
{
    /// <summary>A handful of clips under one name; never the same one twice in a row.</summary>
    [CreateAssetMenu(menuName = "Lanternfall/Audio Cue")]
    public class AudioCue : ScriptableObject
    {
        [SerializeField] private AudioClip[] clips;
        [SerializeField, Range(0f, 1f)] private float volume = 0.8f;
        [SerializeField] private float pitchSpread = 0.05f;

        private int last = -1;

        public void PlayAt(Vector3 position)
        {
            AudioClip clip = Pick();
            if (clip != null)
            {
                AudioSource.PlayClipAtPoint(clip, position, volume);
            }
        }

        public void PlayOn(AudioSource source)
        {
            AudioClip clip = Pick();
            if (clip == null)
            {
                return;
            }
            source.pitch = 1f + Random.Range(-pitchSpread, pitchSpread);
            source.PlayOneShot(clip, volume);
        }

        private AudioClip Pick()
        {
            if (clips == null || clips.Length == 0)
            {
                return null;
            }
            int next = clips.Length == 1 ? 0 : Random.Range(0, clips.Length);
            if (next == last && clips.Length > 1)
            {
                next = (next + 1) % clips.Length;
            }
            last = next;
            return clips[next];
        }
    }
}
