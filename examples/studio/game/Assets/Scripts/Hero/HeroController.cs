using Lanternfall.Core;
using Lanternfall.Items;
using Lanternfall.World;
using UnityEngine;

namespace Lanternfall.Hero
{
    /// <summary>Reads the pad, moves the hero, and lets the lantern do the talking.</summary>
    [RequireComponent(typeof(CharacterController))]
    [RequireComponent(typeof(HeroHealth))]
    public class HeroController : MonoBehaviour
    {
        [SerializeField] private HeroHealth health;
        [SerializeField] private LanternLight lantern;
        [SerializeField] private InventoryService satchel;
        [SerializeField] private AudioCue stepCue;
        [SerializeField] private float walkSpeed = 3.2f;
        [SerializeField] private float reach = 1.6f;

        private CharacterController body;
        private float fallStart;
        private float stride;

        public bool IsAlive => health.Current > 0;

        public LanternLight Lantern => lantern;

        private void Awake()
        {
            body = GetComponent<CharacterController>();
            fallStart = transform.position.y;
        }

        private void Update()
        {
            if (!IsAlive)
            {
                return;
            }
            float delta = GameClock.Step();
            Walk(delta);
            TrackFall();
            if (Input.GetButtonDown("Lantern"))
            {
                lantern.Toggle();
            }
            if (Input.GetButtonDown("Interact"))
            {
                TryInteract();
            }
            if (Input.GetButtonDown("Refill"))
            {
                RefillLantern();
            }
        }

        private void Walk(float delta)
        {
            var wish = new Vector3(Input.GetAxis("Horizontal"), 0f, Input.GetAxis("Vertical"));
            body.SimpleMove(Vector3.ClampMagnitude(wish, 1f) * walkSpeed);
            stride += body.velocity.magnitude * delta;
            if (stride > 1.4f)
            {
                stride = 0f;
                stepCue.PlayAt(transform.position);
            }
        }

        private void TrackFall()
        {
            float height = transform.position.y;
            if (!body.isGrounded)
            {
                fallStart = Mathf.Max(fallStart, height);
                return;
            }
            float metres = fallStart - height;
            if (metres > 4f)
            {
                health.ApplyDamage(DamageEvent.FromFall(gameObject, metres));
            }
            fallStart = height;
        }

        private void TryInteract()
        {
            foreach (Collider hit in Physics.OverlapSphere(transform.position, reach))
            {
                Brazier brazier = hit.GetComponent<Brazier>();
                if (brazier != null && brazier.Kindle(lantern))
                {
                    SaveSystem.Save(0);
                    return;
                }
                LootDrop drop = hit.GetComponent<LootDrop>();
                if (drop != null)
                {
                    drop.Collect(satchel);
                    return;
                }
            }
        }

        private void RefillLantern()
        {
            if (satchel.TryConsume("oil_vial"))
            {
                lantern.AddOil(25f);
            }
        }
    }
}
