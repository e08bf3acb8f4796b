import { codeOf } from '$lib/services/chat/request_code';

/** Programs that ask a model of this platform, as in docs/clients.md. The key is a variable: the page does not have it. */
export const PROGRAMS = ['curl', 'python', 'javascript', 'anthropic', 'claude_code', 'environment'] as const;
export type Program = (typeof PROGRAMS)[number];

const QUESTION = 'What can you do?';

/** A program; `root` is the address of the API without a slash at its end. */
export function snippetOf(program: Program, root: string, model: string): string {
	switch (program) {
		case 'curl':
		case 'python':
		case 'javascript':
			return codeOf(program, { root, body: { model, input: QUESTION } });
		case 'anthropic':
			return [
				'import os',
				'',
				'import anthropic',
				'',
				`client = anthropic.Anthropic(base_url=${JSON.stringify(root)}, api_key=os.environ["STOKER_API_KEY"])`,
				'message = client.messages.create(',
				`    model=${JSON.stringify(model)},`,
				'    max_tokens=2048,',
				`    messages=[{"role": "user", "content": ${JSON.stringify(QUESTION)}}],`,
				')',
				'print("".join(block.text for block in message.content if block.type == "text"))'
			].join('\n');
		case 'claude_code':
			return [
				`export ANTHROPIC_BASE_URL=${quoted(root)} ANTHROPIC_AUTH_TOKEN="$STOKER_API_KEY"`,
				`export ANTHROPIC_MODEL=${quoted(model)} ANTHROPIC_SMALL_FAST_MODEL=${quoted(model)}`,
				'claude'
			].join('\n');
		case 'environment':
			return `export OPENAI_BASE_URL=${quoted(`${root}/v1`)} OPENAI_API_KEY="$STOKER_API_KEY"`;
	}
}

/** A word of a POSIX shell. */
function quoted(word: string): string {
	return `'${word.replaceAll("'", `'\\''`)}'`;
}
