// What does axe find on a page? In the dark all rules are asked again: what only one scheme shows has names and texts as well.
import AxeBuilder from '@axe-core/playwright';
import {expect, type Page} from '@playwright/test';

export const SCHEMES = ['light', 'dark'] as const;

/** Rules whose outcome depends on colors. */
export const OF_COLORS = ['color-contrast', 'link-in-text-block'];

/** Fails with the rules that a page breaks, of all rules or of `rules`, and the first elements that do. */
export async function axeFindsNothing(page: Page, name: string, rules?: string[]): Promise<void> {
  // Only violations are read, so axe need not collect passing elements.
  const runOnly = rules ? {runOnly: {type: 'rule' as const, values: rules}} : {};
  const {violations} = await new AxeBuilder({page}).options({resultTypes: ['violations'], ...runOnly}).analyze();
  const told = violations.map(({id, nodes}) => `${id}: ${nodes.slice(0, 3).map((node) => node.html.slice(0, 160)).join(' | ')}`);
  expect(told, name).toEqual([]);
}
