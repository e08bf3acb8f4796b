import type { Tool } from './tools';

/**
 * The tools that a person has allowed for good, by name: with what was allowed, so that a tool whose description, schema
 * or kind has changed since then is asked for again (a server may turn a harmless tool into another one).
 */
export type Consents = Record<string, string>;

/** The text that stands for what a tool is. Two tools with the same text are the same to a person who allowed one. */
export function whatIsAllowed(tool: Tool): string {
	const { name, type, writes, description, parameters } = tool;
	return JSON.stringify([name, type, writes, description, sorted(parameters)]);
}

/** A value with the members of its objects in order: a server may list them differently each time. */
function sorted(value: unknown): unknown {
	if (Array.isArray(value)) return value.map(sorted);
	if (typeof value !== 'object' || value === null) return value;
	const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
	return { members: members.map(([name, member]) => [name, sorted(member)]) };
}

/** `allowed`: for good; `changed`: it was, as another tool; `unknown`: a person has not allowed it for good. */
export function consentTo(tool: Tool, consents: Consents): 'allowed' | 'changed' | 'unknown' {
	if (!Object.hasOwn(consents, tool.name)) return 'unknown';
	return consents[tool.name] === whatIsAllowed(tool) ? 'allowed' : 'changed';
}

/** The consents with this tool as it is now. */
export function allow(consents: Consents, tool: Tool): Consents {
	return { ...consents, [tool.name]: whatIsAllowed(tool) };
}

/** The consents without this tool. */
export function forget(consents: Consents, name: string): Consents {
	return Object.fromEntries(Object.entries(consents).filter(([known]) => known !== name));
}

/** What the browser's database has, as consents: what is not of their form is dropped. */
export function readConsents(stored: unknown): Consents {
	if (typeof stored !== 'object' || stored === null) return {};
	return Object.fromEntries(Object.entries(stored).filter(([, allowed]) => typeof allowed === 'string'));
}
