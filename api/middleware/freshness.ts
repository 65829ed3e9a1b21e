import { hash } from 'node:crypto';
import { namesTag } from '../files/entity-tag.ts';
import { canonical } from './canonical.ts';
import type { Input } from './validate.ts';

/** Weak entity tag over route, typed parameters and what stands for the content: a version of the data, or the content. */
export function entityTag(route: string, input: Input, content: string): string {
  const source = `${route}\n${canonical(input.params)}\n${canonical(input.query)}\n${content}`;
  return `W/"${hash('sha256', source, 'base64url').slice(0, 27)}"`;
}

/** True when If-None-Match names the tag, by weak comparison, or names every tag with `*`. */
export function matches(ifNoneMatch: string | undefined, tag: string): boolean {
  return ifNoneMatch !== undefined && namesTag(ifNoneMatch, tag, 'weakly');
}
