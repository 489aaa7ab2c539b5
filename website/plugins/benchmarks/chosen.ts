// Which of a version's runs on a machine stands for a scenario? Pure.
import type {Profile, Run, ScenarioInfo} from '../../src/generated/records';

/** As much of a run as the choice needs. */
interface Records {
  run: Pick<Run, 'id' | 'started_at' | 'profile'>;
  scenarios: {scenario: Pick<ScenarioInfo, 'key'>}[];
}

const LENGTH: Record<Profile, number> = {smoke: 0, quick: 1, release: 2, full: 3};

/**
 * The run of the longest profile, of those the newest: chosen by that alone, never by figures, as claims are judged.
 * Scenarios come in the order of the newest run that has them.
 */
export function chosenByScenario<L extends Records>(runs: L[]): Map<string, L> {
  const chosen = new Map<string, L>();
  for (const loaded of byAge(runs).reverse()) {
    for (const {scenario} of loaded.scenarios) {
      const before = chosen.get(scenario.key);
      if (!before || LENGTH[loaded.run.profile] > LENGTH[before.run.profile]) chosen.set(scenario.key, loaded);
    }
  }
  return chosen;
}

/** Oldest first. */
export function byAge<L extends Records>(runs: L[]): L[] {
  return [...runs].sort((a, b) => a.run.started_at.localeCompare(b.run.started_at) || a.run.id.localeCompare(b.run.id));
}
