// Which of a version's runs on a machine stands for a scenario? Pure.
import type {Profile} from '../../src/generated/records';
import type {LoadedRun} from './load';

const LENGTH: Record<Profile, number> = {smoke: 0, quick: 1, full: 2};

/**
 * The run of the longest profile, of those the newest: chosen by that alone, never by figures, as claims are judged.
 * Scenarios come in the order of the newest run that has them.
 */
export function chosenByScenario(runs: LoadedRun[]): Map<string, LoadedRun> {
  const chosen = new Map<string, LoadedRun>();
  for (const loaded of byAge(runs).reverse()) {
    for (const {scenario} of loaded.scenarios) {
      const before = chosen.get(scenario.key);
      if (!before || LENGTH[loaded.run.profile] > LENGTH[before.run.profile]) chosen.set(scenario.key, loaded);
    }
  }
  return chosen;
}

/** Oldest first. */
export function byAge(runs: LoadedRun[]): LoadedRun[] {
  return [...runs].sort((a, b) => a.run.started_at.localeCompare(b.run.started_at) || a.run.id.localeCompare(b.run.id));
}
