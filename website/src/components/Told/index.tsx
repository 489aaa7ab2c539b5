// How is a text of a record shown? As text; what stands between backticks as code, and nothing else is read into it.
import type {ReactNode} from 'react';

export default function Told({text}: {text: string}): ReactNode {
  return text.split(/`([^`\n]+)`/).map((part, index) => (index % 2 === 1 ? <code key={index}>{part}</code> : part));
}
