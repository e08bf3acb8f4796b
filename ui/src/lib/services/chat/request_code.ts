/** A request of the chat as a program: the same body, sent by curl, Python or JavaScript. */

export type CodeLanguage = 'curl' | 'python' | 'javascript';

export interface ChatRequest {
	/** The address of the API, without a slash at its end: `https://host/prefix`. */
	root: string;
	/** The body of `POST /v1/responses`. */
	body: Readonly<Record<string, unknown>>;
}

/** What the OpenAI SDK for Python takes as arguments of `responses.create`; it sends all other fields in `extra_body`. */
const SDK_FIELDS = new Set(
	(
		'background conversation include input instructions max_output_tokens max_tool_calls metadata model parallel_tool_calls ' +
		'previous_response_id prompt_cache_key reasoning safety_identifier service_tier store stream temperature text ' +
		'tool_choice tools top_logprobs top_p truncation user'
	).split(' ')
);
const LONGEST_DATA = 120;

/** The program that sends the request. Files are cut: `withCutFiles`. */
export function codeOf(language: CodeLanguage, { root, body }: ChatRequest): string {
	const shown = withCutFiles(body) as Record<string, unknown>;
	if (language === 'curl') return curlCode(root, shown);
	return language === 'python' ? pythonCode(root, shown) : javascriptCode(root, shown);
}

/** The same value, in which the content of files (`data:image/png;base64,...`) ends after a few characters. */
export function withCutFiles(value: unknown): unknown {
	if (typeof value === 'string') {
		return value.startsWith('data:') && value.length > LONGEST_DATA ? `${value.slice(0, 60)}...` : value;
	}
	if (Array.isArray(value)) return value.map(withCutFiles);
	if (typeof value !== 'object' || value === null) return value;
	return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, withCutFiles(part)]));
}

/** Whether `withCutFiles` changes the value. */
export function hasFiles(value: unknown): boolean {
	if (typeof value === 'string') return value.startsWith('data:') && value.length > LONGEST_DATA;
	return typeof value === 'object' && value !== null && Object.values(value).some(hasFiles);
}

function curlCode(root: string, body: Record<string, unknown>): string {
	const json = JSON.stringify(body, null, 2).replaceAll("'", `'\\''`);
	return [
		`curl -sN '${`${root}/v1/responses`.replaceAll("'", `'\\''`)}' \\`,
		'  -H "Authorization: Bearer $STOKER_API_KEY" \\',
		"  -H 'Content-Type: application/json' \\",
		`  -d '${json}'`
	].join('\n');
}

function pythonCode(root: string, body: Record<string, unknown>): string {
	const known = Object.entries(body).filter(([name]) => SDK_FIELDS.has(name));
	const others = Object.entries(body).filter(([name]) => !SDK_FIELDS.has(name));
	const lines = known.map(([name, value]) => `    ${name}=${pythonValue(value, 1)},`);
	if (others.length > 0) lines.push(`    extra_body=${pythonValue(Object.fromEntries(others), 1)},`);
	return [
		'import os',
		'',
		'from openai import OpenAI',
		'',
		`client = OpenAI(base_url=${JSON.stringify(`${root}/v1`)}, api_key=os.environ["STOKER_API_KEY"])`,
		body.stream === true ? 'events = client.responses.create(' : 'response = client.responses.create(',
		...lines,
		')',
		...(body.stream === true
			? ['for event in events:', '    if event.type == "response.output_text.delta":', '        print(event.delta, end="", flush=True)']
			: ['print(response.output_text)'])
	].join('\n');
}

/** A JSON value as a literal of Python: its texts are those of JSON, which Python reads in the same way. */
function pythonValue(value: unknown, depth: number): string {
	if (value === null || value === undefined) return 'None';
	if (typeof value === 'boolean') return value ? 'True' : 'False';
	if (typeof value !== 'object') return JSON.stringify(value);
	const isList = Array.isArray(value);
	const parts = isList
		? value.map((part) => pythonValue(part, depth + 1))
		: Object.entries(value).map(([name, part]) => `${JSON.stringify(name)}: ${pythonValue(part, depth + 1)}`);
	return inLines(parts, isList ? '[]' : '{}', '    ', depth);
}

function javascriptCode(root: string, body: Record<string, unknown>): string {
	return [
		"import OpenAI from 'openai';",
		'',
		`const client = new OpenAI({ baseURL: ${JSON.stringify(`${root}/v1`)}, apiKey: process.env.STOKER_API_KEY });`,
		`const ${body.stream === true ? 'events' : 'response'} = await client.responses.create(${javascriptValue(body, 0)});`,
		...(body.stream === true
			? [
					'for await (const event of events) {',
					"  if (event.type === 'response.output_text.delta') process.stdout.write(event.delta);",
					'}'
				]
			: ['console.log(response.output_text);'])
	].join('\n');
}

function javascriptValue(value: unknown, depth: number): string {
	if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
	const isList = Array.isArray(value);
	const parts = isList
		? value.map((part) => javascriptValue(part, depth + 1))
		: Object.entries(value).map(([name, part]) => `${propertyName(name)}: ${javascriptValue(part, depth + 1)}`);
	return inLines(parts, isList ? '[]' : '{}', '  ', depth);
}

/** `__proto__: ...` would set the prototype: such a name is computed. */
function propertyName(name: string): string {
	if (name === '__proto__') return '["__proto__"]';
	return /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name);
}

/** Parts of a list or an object on one line where they are short, else each on its own. */
function inLines(parts: string[], brackets: string, indent: string, depth: number): string {
	const [open, close] = [brackets.charAt(0), brackets.charAt(1)];
	const line = parts.join(', ');
	if (parts.length === 0) return brackets;
	if (line.length <= 60 && !line.includes('\n')) return open === '{' ? `{ ${line} }` : `[${line}]`;
	const inner = indent.repeat(depth + 1);
	return `${open}\n${parts.map((part) => `${inner}${part},\n`).join('')}${indent.repeat(depth)}${close}`;
}
