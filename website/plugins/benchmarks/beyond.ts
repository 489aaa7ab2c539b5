// What do the pages above single versions need: claims with their evidence, and the runs that can be compared? Pure.
import type {Claims, Profile} from '../../src/generated/records';
import {isScenario} from '../../src/lib/record-files';
import type {LoadedRun, Results} from './load';

/** Data of `/benchmarks/claims/`. */
export interface ClaimsData {
  claims?: Claims['claims'];
  /** Page of the scenario's run by `<machine>/<run-id>/<scenario>`, where the run is stored. */
  evidence: Record<string, string>;
}

/** A run that can be compared. */
export interface ComparableRun {
  id: string;
  version: string;
  machineKey: string;
  machine: string;
  cpuModel: string;
  fingerprint: string;
  profile: Profile;
  startedAt: string;
  href: string;
  /** Raw file below the site's root, by scenario. */
  scenarios: {key: string; title: string; sitePath: string}[];
  /** Names of servers by key. */
  servers: Record<string, string>;
}

export function claimsData({versions, claims}: Results): ClaimsData {
  const evidence: Record<string, string> = {};
  for (const {run, machineKey, version, scenarios} of runsOf(versions)) {
    for (const {scenario} of scenarios) evidence[`${machineKey}/${run.id}/${scenario.key}`] = `/benchmarks/${version}/${machineKey}/run/${run.id}/${scenario.key}/`;
    if (run.components.length > 0) evidence[`${machineKey}/${run.id}/components`] = `/benchmarks/${version}/${machineKey}/components/`;
  }
  return {evidence, ...(claims ? {claims: claims.claims} : {})};
}

/** Every stored run, newest first. */
export function compareData({versions}: Results): ComparableRun[] {
  return runsOf(versions)
    .map(({run, version, machineKey, scenarios, files}) => ({
      id: run.id,
      version,
      machineKey,
      machine: run.machine.title || machineKey,
      cpuModel: run.machine.cpu_model,
      fingerprint: run.machine.fingerprint,
      profile: run.profile,
      startedAt: run.started_at,
      href: `/benchmarks/${version}/${machineKey}/run/${run.id}/`,
      scenarios: scenarios.flatMap(({scenario: {key, title}}) => {
        const file = files.find(({name}) => isScenario(name, key));
        return file ? [{key, title, sitePath: file.sitePath}] : [];
      }),
      servers: Object.fromEntries(run.targets.map((target) => [target.key, target.title])),
    }))
    .sort((a, b) => b.startedAt.localeCompare(a.startedAt) || b.id.localeCompare(a.id));
}

function runsOf(versions: Results['versions']): LoadedRun[] {
  return versions.flatMap(({machines}) => machines.flatMap(({runs}) => runs));
}
