using UnityEngine;

namespace Lanternfall.Hero
{
    /// <summary>The playable looks of the hero, in the order of the wardrobe screen.</summary>
    [CreateAssetMenu(menuName = "Lanternfall/Character Roster")]
    public class CharacterRoster : ScriptableObject
    {
        [SerializeField] private HeroController[] looks;
        [SerializeField] private Sprite[] portraits;

        public int Count => looks.Length;

        public Sprite PortraitOf(int index)
        {
            return portraits[Mathf.Clamp(index, 0, portraits.Length - 1)];
        }

        public HeroController Spawn(int index, Vector3 position)
        {
            HeroController prefab = looks[Mathf.Clamp(index, 0, looks.Length - 1)];
            return Instantiate(prefab, position, Quaternion.identity);
        }
    }
}
