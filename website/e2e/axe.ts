// What does axe find on a page? In the dark a page differs by its colours alone, so only rules of colours are asked again.
import AxeBuilder from '@axe-core/playwright';
import {expect, type Page} from '@playwright/test';

export const SCHEMES = ['light', 'dark'] as const;
const COLOURS = ['color-contrast', 'link-in-text-block'];

/** Fails with the rules that a page breaks and the first elements that do. */
export async function axeFindsNothing(page: Page, name: string, scheme: (typeof SCHEMES)[number]): Promise<void> {
  const builder = new AxeBuilder({page});
  const {violations} = await (scheme === 'dark' ? builder.withRules(COLOURS) : builder).analyze();
  const told = violations.map(({id, nodes}) => `${id}: ${nodes.slice(0, 3).map((node) => node.html.slice(0, 160)).join(' | ')}`);
  expect(told, name).toEqual([]);
}
