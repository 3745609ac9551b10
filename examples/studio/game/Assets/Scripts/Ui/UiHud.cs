using Lanternfall.Core;
using Lanternfall.Hero;
using Lanternfall.Items;
using TMPro;
using UnityEngine;
using UnityEngine.UI;

namespace Lanternfall.Ui
{
    /// <summary>Health ring, oil gauge, and one line of text. That is all the hero gets.</summary>
    public class UiHud : MonoBehaviour
    {
        [SerializeField] private HeroHealth health;
        [SerializeField] private LanternLight lantern;
        [SerializeField] private InventoryService satchel;
        [SerializeField] private CharacterRoster roster;
        [SerializeField] private Image healthRing;
        [SerializeField] private Image oilGauge;
        [SerializeField] private Image portrait;
        [SerializeField] private TextMeshProUGUI message;

        private float messageUntil;

        private void OnEnable()
        {
            EventBus.HeroHurt += OnHeroHurt;
            EventBus.ItemGained += OnItemGained;
            portrait.sprite = roster.PortraitOf(0);
        }

        private void OnDisable()
        {
            EventBus.HeroHurt -= OnHeroHurt;
            EventBus.ItemGained -= OnItemGained;
        }

        private void LateUpdate()
        {
            healthRing.fillAmount = health.Fraction;
            oilGauge.fillAmount = lantern.OilFraction;
            if (GameClock.Elapsed > messageUntil)
            {
                message.text = string.Empty;
            }
        }

        private void OnHeroHurt(DamageEvent damage)
        {
            if (damage.Kind == DamageKind.Dark)
            {
                Say("The dark bites.");
            }
        }

        private void OnItemGained(string itemId)
        {
            Say(itemId + " x" + satchel.CountOf(itemId));
        }

        private void Say(string text)
        {
            message.text = text;
            messageUntil = GameClock.Elapsed + 3f;
        }
    }
}
