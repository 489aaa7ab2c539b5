// An island: a component that stays alive in the browser while the document around it is only HTML.
import {type ComponentType, createContext, type ReactNode, useContext} from 'react';

/** Each is in `registry.ts`. */
export type IslandName = 'capacity-assumptions' | 'compare-chooser' | 'copy-block' | 'histograms' | 'version-picker';

/** Whether HTML is rendered that no script will take over. */
export const WithinDocument = createContext(false);

/**
 * Makes a component an island, under its name in `registry.ts`. Within a document the server renders it once, for readers
 * without scripts, and notes its properties beside it, so they must survive JSON; in the browser it is rendered again in
 * the same place. Anywhere else, as in a guide, it is an ordinary component.
 */
export function island<P extends object>(name: IslandName, Component: ComponentType<P>): ComponentType<P> {
  function Island(props: P): ReactNode {
    if (!useContext(WithinDocument)) return <Component {...props} />;
    return (
      <div data-island={name} data-props={JSON.stringify(props)}>
        {/* Islands within an island are a part of it. */}
        <WithinDocument.Provider value={false}>
          <Component {...props} />
        </WithinDocument.Provider>
      </div>
    );
  }
  return Island;
}
