// Is a page wider than its window? A style sheet may come a moment after the page: what counts is where it settles.
import {expect, type Page} from '@playwright/test';

/** Fails where a page is still wider than its window after five seconds. */
export async function fitsItsWindow(page: Page, name: string): Promise<void> {
  const wider = () => page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  await expect.poll(wider, {message: name, timeout: 5_000}).toBeLessThanOrEqual(0);
}
