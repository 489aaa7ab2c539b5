// Words of the built pages of a scenario: engines in a process are no servers, and every page is in the same order.
import {expect, type Page, test} from '@playwright/test';
import {builtVersions} from './results';
import {serveBuild} from './serve';

let url = '';
let stop: () => Promise<void> = () => Promise.resolve();

test.use({javaScriptEnabled: false});
test.beforeAll(async () => {
  ({url, stop} = await serveBuild());
});
test.afterAll(async () => stop());

/** Of the newest version that has them, one page per scenario of these kinds. */
function pagesOf(kinds: (kind: string) => boolean): string[] {
  const found = new Map<string, string>();
  for (const {href, scenarios} of builtVersions()) {
    for (const {scenario} of scenarios.filter((one) => kinds(one.scenario.kind))) {
      if (!found.has(scenario.key)) found.set(scenario.key, `${href}${scenario.key}/`);
    }
  }
  return [...found.values()];
}

/** The text of a page without the scenario's own prose, which may speak of servers beside engines. */
async function ownText(page: Page): Promise<string> {
  return page.locator('main').evaluate((main) => {
    const copy = main.cloneNode(true) as HTMLElement;
    const prose = copy.querySelector('#what-and-why');
    let next = prose?.nextElementSibling;
    while (next && next.tagName !== 'H2') {
      const after = next.nextElementSibling;
      next.remove();
      next = after;
    }
    copy.querySelectorAll('#environment ~ *, nav').forEach((element) => element.remove());
    return copy.textContent ?? '';
  });
}

test('a page of engines speaks of engines: no server, no load generator, no loop', async ({page}) => {
  test.setTimeout(120_000);
  for (const path of pagesOf((kind) => kind === 'embedded')) {
    await page.goto(url + path);
    const text = await ownText(page);
    expect(text, path).toContain('Engine');
    expect(text, path).not.toMatch(/load generator|closed loop|server on CPU|server process|\bServer\b/);
  }
});

test('every page goes from what was found over figures and charts to the environment and the commands', async ({page}) => {
  test.setTimeout(120_000);
  for (const path of pagesOf(() => true)) {
    await page.goto(url + path);
    const places = await page.locator('main').evaluate((main) => {
      const all = [...main.querySelectorAll('*')];
      const place = (selector: string) => all.findIndex((element) => element.matches(selector));
      return ['[aria-label="Environment in short"]', 'table', '#what-and-why', '#environment', '#reproduce', '#raw'].map(place).filter((at) => at >= 0);
    });
    expect(places, path).toEqual([...places].sort((a, b) => a - b));
  }
});
