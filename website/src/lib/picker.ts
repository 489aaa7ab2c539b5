// Choices of the version picker: where each version leads from a page, and which newer version has what the page shows. Pure.
import type {PickerEntry} from '../../plugins/benchmarks/routes';

/** The same scenario there, where it was measured; else the page of the version on that machine. */
export function entryHref({href, scenarios}: PickerEntry, scenario: string | undefined): string {
  return scenario !== undefined && scenarios.includes(scenario) ? `${href}${scenario}/` : href;
}

/** The newest published version after `version` that has the scenario, or any where the page is of none. Entries come newest first. */
export function newerThan(entries: PickerEntry[], version: string, scenario: string | undefined): PickerEntry | undefined {
  const published = entries.filter((entry) => entry.version !== 'local');
  const own = published.findIndex((entry) => entry.version === version);
  return published.slice(0, Math.max(own, 0)).find(({scenarios}) => scenario === undefined || scenarios.includes(scenario));
}
