// Write src/lib/api/schema.d.ts from openapi.json, the output of `stoker openapi`. Texts for people are left out: the file
// changes when a type does, not with each description.
import { readFileSync, writeFileSync } from 'node:fs';
import openapiTS, { astToString } from 'openapi-typescript';

const TEXTS = new Set(['description', 'summary', 'example', 'examples', 'default']);
const NAMES = new Set(['properties', 'schemas', 'parameters', 'paths', 'headers']); // their keys are names of the API

function withoutTexts(value, keysAreNames = false) {
	if (Array.isArray(value)) return value.map((item) => withoutTexts(item));
	if (value === null || typeof value !== 'object') return value;
	const kept = Object.entries(value).filter(([key]) => keysAreNames || !TEXTS.has(key));
	return Object.fromEntries(
		kept.map(([key, item]) => [key, withoutTexts(item, !keysAreNames && NAMES.has(key) && !Array.isArray(item))])
	);
}

const document = withoutTexts(JSON.parse(readFileSync('openapi.json', 'utf8')));
document.info.version = '';
const types = astToString(await openapiTS(document));
writeFileSync('src/lib/api/schema.d.ts', `// Made by \`make ui\` from \`stoker openapi\`: not edited by hand.\n\n${types}`);
