// The search field of the plugin, with the ARIA attributes that its list of hits lacks.
import SearchBar from '@theme-original/SearchBar';
import {type ComponentProps, type ReactNode, useEffect, useRef} from 'react';

/** A combobox names the list it controls, and everything in a list of options is an option. */
function repair(frame: HTMLElement): void {
  for (const field of frame.querySelectorAll('input[role=combobox][aria-owns]:not([aria-controls])')) {
    field.setAttribute('aria-controls', field.getAttribute('aria-owns') ?? '');
  }
  for (const link of frame.querySelectorAll('[role=listbox] a:not([role])')) link.setAttribute('role', 'option');
}

export default function AccessibleSearchBar(props: ComponentProps<typeof SearchBar>): ReactNode {
  const frame = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = frame.current;
    if (!element) return undefined;
    const observer = new MutationObserver(() => repair(element));
    observer.observe(element, {childList: true, subtree: true, attributeFilter: ['aria-owns']});
    return () => observer.disconnect();
  }, []);
  return (
    <div ref={frame}>
      <SearchBar {...props} />
    </div>
  );
}
