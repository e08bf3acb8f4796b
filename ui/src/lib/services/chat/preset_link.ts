import { presetFrom, PresetProblem, type PresetContent } from '$lib/services/chat/presets';

/**
 * Presets as links. A preset is JSON in the fragment of an address, percent-encoded: `/ui/#preset={"version":1,...}`. Browsers
 * send no fragment to a server. A preset of a link is shown before it is used.
 */
const BEGIN = '#preset=';
const VERSION = 1;
/** Characters of a fragment; longer ones are not read. Browsers take far more. */
export const MAX_FRAGMENT = 64_000;

export function isPresetLink(fragment: string): boolean {
	return fragment.startsWith(BEGIN);
}

/** The text of a preset: without fields that have no effect. */
export function presetText({ name, model, settings }: PresetContent): string {
	const { instructions, parameters, reasoning, tools, format } = settings;
	const kept = {
		...(instructions !== '' && { instructions }),
		...(Object.keys(parameters).length > 0 && { parameters }),
		...(reasoning !== 'default' && { reasoning }),
		...(tools.length > 0 && { tools }),
		...(format !== null && { format })
	};
	return JSON.stringify({ version: VERSION, name, ...(model !== null && { model }), settings: kept });
}

/** The link of a preset; null if it is too long to be one. `page` is the address of the chat. */
export function presetLink(page: string, preset: PresetContent): string | null {
	const fragment = BEGIN + encodeURIComponent(presetText(preset));
	return fragment.length > MAX_FRAGMENT ? null : page.replace(/[?#].*$/, '') + fragment;
}

/** The preset of a link's fragment. Raises `PresetProblem`, whose path is empty if it is no JSON of this version. */
export function readPresetLink(fragment: string): PresetContent {
	if (!isPresetLink(fragment) || fragment.length > MAX_FRAGMENT) throw new PresetProblem('');
	let given: unknown;
	try {
		given = JSON.parse(decodeURIComponent(fragment.slice(BEGIN.length)));
	} catch {
		throw new PresetProblem('');
	}
	if (typeof given !== 'object' || given === null || !('version' in given)) throw new PresetProblem('');
	const { version, ...preset } = given;
	if (version !== VERSION) throw new PresetProblem('version');
	return presetFrom(preset);
}
