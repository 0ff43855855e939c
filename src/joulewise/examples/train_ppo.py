"""Train a neural network by PPO, of Stable-Baselines3, and judge it beside all that `train.py` judges.

    pip install stable-baselines3 sb3-contrib        # these are no part of Joulewise; PyTorch comes with them
    python train_ppo.py 8 tasks choices              # minutes; or jobs, or prices

With "choices" the network takes one of what waits at a time, and is told what the mask allows (MaskablePPO); with
"prices" it nudges the prices of the policy Prices (PPO).
"""

import sys
import time
from pathlib import Path

import torch
from sb3_contrib import MaskablePPO
from stable_baselines3 import PPO
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import VecNormalize
from train import SYSTEMS, judge, made

N_ENVS = 8
USUAL = {"n_steps": 512, "batch_size": 512, "n_epochs": 5, "gamma": 0.999, "learning_rate": 3e-4, "seed": 0}
METHODS = {
    "choices": (MaskablePPO, {"ent_coef": 0.003}, {"net_arch": [128, 128]}),
    "prices": (PPO, {}, {"net_arch": [64, 64], "log_std_init": -1.5}),
}


def quickly_bounded(system):
    """A study of the same days whose bound takes no time, beside the other: who learns does not look at it."""
    study = Path(__file__).with_name(SYSTEMS[system][1])
    quick = study.with_name(f"quick-{study.name}")
    quick.write_text(study.read_text("utf-8").replace('bound = "prices"', 'bound = "trivial"'), "utf-8")
    return quick


def trained(system, actions, seconds):
    """A model after so many seconds."""
    method, options, network = METHODS[actions]
    asked = {"study": quickly_bounded(system), "actions": actions}
    days = VecNormalize(make_vec_env(SYSTEMS[system][0], N_ENVS, seed=0, env_kwargs=asked), norm_obs=False)
    model, began = method("MlpPolicy", days, policy_kwargs=network, **USUAL, **options, device="cpu"), time.monotonic()
    return model.learn(10**9, callback=lambda *_: time.monotonic() - began < seconds)


def deciding(model):
    """What a model decides; without choices there is no mask to tell it."""
    if isinstance(model, MaskablePPO):
        return lambda seen, mask: model.predict(seen, action_masks=mask.astype(bool), deterministic=True)[0]
    return lambda seen, _: model.predict(seen, deterministic=True)[0]


if __name__ == "__main__":
    minutes, asked, way = sys.argv[1:]
    torch.set_num_threads(1)
    learned = trained(asked, way, 60 * float(minutes))
    print(f"{learned.num_timesteps:,} steps")
    judge(made(asked, actions=way), asked, deciding(learned))
