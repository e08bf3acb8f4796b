import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { codeOf, hasFiles, withCutFiles } from '$lib/services/chat/request_code';

const root = 'http://127.0.0.1:8080/prefix';
const hostile = `it's "quoted" \\ $HOME \`id\` \u2028 \n' ; rm -rf / # {x} \${y} </script> \ud83d\ude00 \ud800`;
const body = {
	model: 'stoker-demo',
	input: [{ role: 'user', content: [{ type: 'input_text', text: hostile }] }],
	stream: true,
	store: true,
	temperature: 0.5,
	top_k: 20,
	min_p: null,
	tools: [],
	metadata: { __proto_: 'a', 'x-y': 'b' }
};

/** The arguments that a program gets when a shell runs a command. */
function argumentsOf(command: string): string[] {
	const asList = command.replace(/^curl /, `node -e 'console.log(JSON.stringify(process.argv.slice(1)))' -- `);
	const printed = execFileSync('sh', ['-c', asList], { env: { ...process.env, STOKER_API_KEY: 'key' } });
	return JSON.parse(printed.toString()) as string[];
}

describe('the code of a request', () => {
	it('sends the same body by curl', () => {
		const sent = argumentsOf(codeOf('curl', { root, body }));
		expect(sent[1]).toBe(`${root}/v1/responses`);
		expect(sent).toContain('Authorization: Bearer key');
		expect(JSON.parse(sent[sent.indexOf('-d') + 1] ?? '')).toEqual(body);
	});

	it('sends the same body by Python', () => {
		const code = codeOf('python', { root, body });
		const fake = [
			'import json, sys, types, os',
			'os.environ["STOKER_API_KEY"] = "key"',
			'sent = {}',
			'class Client:',
			'    def __init__(self, **options):',
			'        sent["options"] = options',
			'        self.responses = self',
			'    def create(self, extra_body, **body):',
			'        sent["body"] = {**body, **extra_body}',
			'        return []',
			'sys.modules["openai"] = types.SimpleNamespace(OpenAI=Client)',
			'exec(sys.stdin.read())',
			'print(json.dumps(sent))'
		].join('\n');
		const printed = JSON.parse(execFileSync('python3', ['-c', fake], { input: code }).toString()) as Record<string, unknown>;
		expect(printed).toEqual({ options: { base_url: `${root}/v1`, api_key: 'key' }, body });
	});

	it('sends the same body by JavaScript', async () => {
		const code = codeOf('javascript', { root, body }).split('\n').slice(1).join('\n');
		let sent: unknown;
		class OpenAI {
			responses = {
				create: (given: unknown): unknown[] => {
					sent = given;
					return [];
				}
			};
		}
		// the code is a module: an async function stands for it
		const run = Object.getPrototypeOf(async () => undefined).constructor as new (...lines: string[]) => (...given: unknown[]) => Promise<void>;
		await new run('OpenAI', 'process', code)(OpenAI, { env: {}, stdout: { write: () => undefined } });
		expect(sent).toEqual(body);
	});

	it('keeps a property named __proto__ an ordinary one', async () => {
		const hostileBody = JSON.parse('{"metadata": {"__proto__": {"a": 1}}}') as Record<string, unknown>;
		expect(codeOf('javascript', { root, body: hostileBody })).toContain('["__proto__"]: { a: 1 }');
	});

	it('cuts the content of files, and says so', () => {
		const image = `data:image/png;base64,${'A'.repeat(5000)}`;
		const withImage = { input: [{ content: [{ type: 'input_image', image_url: image }] }] };
		expect(hasFiles(withImage)).toBe(true);
		expect(hasFiles(body)).toBe(false);
		expect(JSON.stringify(withCutFiles(withImage)).length).toBeLessThan(200);
		expect(codeOf('curl', { root, body: withImage }).length).toBeLessThan(400);
	});
});
