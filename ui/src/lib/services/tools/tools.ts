import { api } from '$lib/api/client';
import type { components } from '$lib/api/schema';
import { ApiProblem, call } from '$lib/services/call';

/** A tool that the platform runs for this tenant. */
export interface Tool {
	name: string;
	title: string;
	/** `builtin`: of the platform itself, on files of the tenant; `mcp`: of a server that the operator has configured. */
	type: 'builtin' | 'mcp';
	/** Whether it can change something. Of a tool of an MCP server this is not known: it counts as one that can. */
	writes: boolean;
	description: string;
	/** The JSON Schema of its arguments. */
	parameters: Record<string, unknown>;
}

/** What a tool gave: a text for the model. */
export interface ToolOutput {
	output: string;
	isError: boolean;
}

/** Characters of a result that are kept and sent: the platform's own bound is in bytes, and an operator may raise it. */
export const MAX_OUTPUT = 200_000;

/** The tools of the caller; none where the platform has tools turned off. Raises `ApiProblem`. */
export async function listTools(): Promise<Tool[]> {
	return (await call(api.GET('/v1/tools'))).map(toolOf).filter((tool) => tool !== null);
}

/** A row of `GET /tools`; null if it has no name or no schema that a request can have. */
export function toolOf(row: components['schemas']['Tool']): Tool | null {
	const found = (row.definition as { function?: Record<string, unknown> }).function ?? {};
	const { name, description, parameters } = found;
	if (typeof name !== 'string' || name === '') return null;
	return {
		name,
		title: row.display_name || name,
		type: row.type === 'builtin' ? 'builtin' : 'mcp',
		writes: row.type !== 'builtin' || (row.permissions as { write?: unknown }).write !== false,
		description: typeof description === 'string' ? description : '',
		parameters: isObject(parameters) ? parameters : { type: 'object', properties: {} }
	};
}

/** An entry of `tools` in a request of Responses. */
export interface FunctionTool {
	type: 'function';
	name: string;
	description: string;
	parameters: Record<string, unknown>;
	strict: false;
}

/** Those of the tools that a conversation offers to its model, as `POST /v1/responses` takes them. */
export function offeredTools(tools: readonly Tool[], names: readonly string[]): FunctionTool[] {
	return tools
		.filter((tool) => names.includes(tool.name))
		.map(({ name, description, parameters }) => ({ type: 'function', name, description, parameters, strict: false }));
}

/**
 * Call a tool. What fails because of the call (its arguments, a right that is missing) is a result that the model reads;
 * raises `ApiProblem` where a repeat may work, or a person has to sign in.
 */
export async function callTool(name: string, params: Record<string, unknown>, signal: AbortSignal): Promise<ToolOutput> {
	try {
		return outputOf(await call(api.POST('/v1/tools', { body: { tool: name, params }, signal })));
	} catch (error) {
		if (error instanceof ApiProblem && [400, 403, 404, 413].includes(error.status)) {
			return { output: cut(error.message), isError: true };
		}
		throw error;
	}
}

/** The text of a result: its own, or its JSON. */
export function outputOf(result: components['schemas']['ToolResult']): ToolOutput {
	if (typeof result.plain_text_response === 'string') return { output: cut(result.plain_text_response), isError: false };
	if (typeof result.error === 'string') return { output: cut(result.error), isError: true };
	return { output: cut(JSON.stringify(result)), isError: false };
}

function cut(text: string): string {
	return text.length <= MAX_OUTPUT ? text : `${text.slice(0, MAX_OUTPUT)}\n[cut]`;
}

/** The arguments of a call; null unless they are a JSON object. */
export function argumentsOf(text: string): Record<string, unknown> | null {
	try {
		const found: unknown = JSON.parse(text.trim() === '' ? '{}' : text);
		return isObject(found) ? found : null;
	} catch {
		return null;
	}
}

function isObject(value: unknown): value is Record<string, unknown> {
	return typeof value === 'object' && value !== null && !Array.isArray(value);
}
