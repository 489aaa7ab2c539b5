// What does axe find on a page? In the dark all rules are asked again: what only one scheme shows has names and texts as well.
import AxeBuilder from '@axe-core/playwright';
import {expect, type Page} from '@playwright/test';

export const SCHEMES = ['light', 'dark'] as const;

/** Fails with the rules that a page breaks and the first elements that do. */
export async function axeFindsNothing(page: Page, name: string): Promise<void> {
  // Only violations are read, so axe need not collect passing elements.
  const {violations} = await new AxeBuilder({page}).options({resultTypes: ['violations']}).analyze();
  const told = violations.map(({id, nodes}) => `${id}: ${nodes.slice(0, 3).map((node) => node.html.slice(0, 160)).join(' | ')}`);
  expect(told, name).toEqual([]);
}
