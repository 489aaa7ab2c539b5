// Brings the islands of a document to life: each is rendered again by React in the place of its HTML, with the
// properties that were noted there.
import {type ComponentType, type ReactNode, type RefObject, useEffect, useState} from 'react';
import {createPortal, flushSync} from 'react-dom';
import type {IslandName} from './island';
import {ISLANDS} from './registry';

interface Living {
  node: HTMLElement;
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  Component: ComponentType<any>;
  props: object;
}

export default function Islands({within}: {within: RefObject<HTMLElement | null>}): ReactNode {
  const [living, setLiving] = useState<Living[]>([]);
  useEffect(() => {
    let wanted = true;
    for (const [name, nodes] of placesByName(within.current)) {
      ISLANDS[name]()
        .then(({default: Component}) => {
          if (!wanted) return;
          const more = nodes.map((node): Living => ({node, Component, props: JSON.parse(node.dataset.props ?? '{}') as object}));
          for (const node of nodes) node.replaceChildren();
          // At once: nothing is painted while the places are empty.
          flushSync(() => setLiving((before) => [...before, ...more]));
        })
        // The HTML of the island stays, and is whole.
        .catch((error: unknown) => console.error(`island ${name} was not fetched:`, error));
    }
    return () => {
      wanted = false;
    };
  }, [within]);
  return living.map(({node, Component, props}, index) => createPortal(<Component {...props} />, node, String(index)));
}

function placesByName(root: HTMLElement | null): Map<IslandName, HTMLElement[]> {
  const places = new Map<IslandName, HTMLElement[]>();
  for (const node of root?.querySelectorAll<HTMLElement>('[data-island]') ?? []) {
    const name = node.dataset.island as IslandName;
    places.set(name, [...(places.get(name) ?? []), node]);
  }
  return places;
}
