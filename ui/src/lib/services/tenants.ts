import { api } from '$lib/api/client';
import type { components } from '$lib/api/schema';
import { call } from '$lib/services/call';
import { number, percent } from '$lib/services/format';
import { text } from '$lib/text';

export type Tenant = components['schemas']['TenantObject'];
export type TenantUse = components['schemas']['TenantLimits'];
export type TenantBody = components['schemas']['TenantBody'];

/** A tenant with what it uses; `use` is missing for one that was added between the two readings. */
export interface TenantRow {
	tenant: Tenant;
	use: TenantUse | undefined;
	refused: { recent: number; hour: number };
}

export interface TenantListing {
	rows: TenantRow[];
	/** Whether a change needs the signatures of a proposal. */
	needsProposal: boolean;
}

const PAGE = 1_000;
const MOST_PAGES = 5;

/** All tenants with what they use, by name. Raises `ApiProblem`. */
export async function readTenants(): Promise<TenantListing> {
	const tenants: Tenant[] = [];
	const uses: TenantUse[] = [];
	let needsProposal = false;
	let after: string | null = '';
	for (let page = 0; page < MOST_PAGES && after !== null; page += 1) {
		const query: { limit: number; after: string } = { limit: PAGE, after };
		const [names, limits] = await Promise.all([
			call(api.GET('/v1/admin/tenants', { params: { query } })),
			call(api.GET('/v1/admin/limits', { params: { query } }))
		]);
		tenants.push(...names.data);
		uses.push(...limits.data);
		needsProposal = names.needs_proposal;
		after = names.has_more ? names.last_id : null;
	}
	return { rows: joined(tenants, uses), needsProposal };
}

/** The tenants with their uses, in the order of the tenants. */
export function joined(tenants: readonly Tenant[], uses: readonly TenantUse[]): TenantRow[] {
	const byName = new Map(uses.map((use) => [use.tenant, use]));
	return tenants.map((tenant) => {
		const use = byName.get(tenant.name);
		const refused = { recent: 0, hour: 0 };
		for (const count of use?.refusals ?? []) {
			refused.recent += count.last_5_minutes;
			refused.hour += count.last_hour;
		}
		return { tenant, use, refused };
	});
}

/** Whether a tenant is at a limit now, or was refused within the last 5 minutes. */
export function isLimited(row: TenantRow): boolean {
	return row.refused.recent > 0 || (row.use?.at_limit.length ?? 0) > 0;
}

/** How much of a limit of requests or tokens is in use. */
export function windowUsed(use: components['schemas']['WindowUse']): number {
	return Math.max(0, use.at_once - use.remaining);
}

/** What a limit of requests or tokens bounds, in words. */
export function windowNote(use: components['schemas']['WindowUse']): string {
	const window = text.tenants.windows[use.window_s] ?? `${use.window_s} s`;
	return use.at_once < use.most ? text.tenants.atOnce(number(use.most), window) : text.tenants.within(window);
}

/** A budget of the month, as a meter shows it. */
export interface BudgetMeter {
	title: string;
	used: number;
	total: number;
	note: string;
}

/** The budgets of a tenant: of tokens, of GPU-seconds, or none. */
export function budgetsOf({ budget }: Pick<TenantUse, 'budget'>): BudgetMeter[] {
	if (!budget) return [];
	const words = text.tenants.budget;
	const note = words.until(new Date(budget.resets_at * 1000).toISOString().slice(0, 10), budget.soft === null ? '' : percent(budget.soft));
	return [
		{ title: words.tokens, ...budget.tokens },
		{ title: words.gpuSeconds, ...budget.gpu_s }
	].flatMap(({ title, most, used }) => (most === null ? [] : [{ title, used: Math.floor(used), total: most, note }]));
}

/** The tone of a meter: a limit that is reached, one that is near, and others. */
export function toneOf(used: number, total: number): 'accent' | 'wait' | 'bad' {
	if (used >= total) return 'bad';
	return used >= 0.8 * total ? 'wait' : 'accent';
}

/** What is used of one limit. */
export interface LimitUse {
	limit: TenantUse['at_limit'][number];
	used: number;
	total: number;
}

/** The part of a limit that is used; a limit of nothing is used up. */
export function shareOf({ used, total }: LimitUse): number {
	return total > 0 ? used / total : 1;
}

/** The limit of which the largest part is used; undefined if nothing is used of any. */
export function nearestLimit(use: TenantUse): LimitUse | undefined {
	const used = limitsOf(use).filter(({ used }) => used > 0);
	return used.sort((one, other) => shareOf(other) - shareOf(one))[0];
}

function limitsOf(use: TenantUse): LimitUse[] {
	const windows = (['requests', 'tokens'] as const).flatMap((limit) => {
		const window = use[limit];
		return window ? [{ limit, used: windowUsed(window), total: window.at_once }] : [];
	});
	const counts = (['running', 'waiting', 'bytes'] as const).flatMap((limit) => {
		const { used, most } = use[limit];
		return typeof most === 'number' ? [{ limit, used, total: most }] : [];
	});
	const budgets = budgetsOf(use).map(({ used, total }) => ({ limit: 'budget' as const, used, total }));
	return [...windows, ...counts, ...budgets];
}

// ---- the form

/** The fields of a tenant in the order of the form. Limits are null where that of all tenants counts. */
export const TENANT_FIELDS = [
	{ name: 'weight', kind: 'number' },
	{ name: 'max_priority', kind: 'priority' },
	{ name: 'rate_limit', kind: 'text' },
	{ name: 'token_limit', kind: 'text' },
	{ name: 'max_running', kind: 'number' },
	{ name: 'max_waiting', kind: 'number' },
	{ name: 'max_streams', kind: 'number' },
	{ name: 'max_readers', kind: 'number' },
	{ name: 'max_bytes', kind: 'number' },
	{ name: 'budget_tokens', kind: 'number' },
	{ name: 'budget_gpu_s', kind: 'number' },
	{ name: 'budget_soft', kind: 'number' },
	{ name: 'receipts', kind: 'boolean' },
	{ name: 'may_load', kind: 'boolean' },
	{ name: 'comfyui_workflows', kind: 'boolean' },
	{ name: 'keep_texts', kind: 'boolean' }
] as const;
export type TenantField = (typeof TENANT_FIELDS)[number]['name'];
export type TenantForm = Record<TenantField, string>;

/** The texts of the form for a tenant, or for a new one. A boolean is `true` or `false`. */
export function formOf(tenant: Tenant | undefined): TenantForm {
	const texts = TENANT_FIELDS.map(({ name }) => [name, tenant ? String(tenant[name] ?? '') : '']);
	return Object.fromEntries(texts) as TenantForm;
}

/** The body of a change: the fields whose texts differ; an empty text is null, the default. */
export function changesOf(before: TenantForm, after: TenantForm): Partial<TenantBody> {
	const body: Record<string, unknown> = {};
	for (const { name, kind } of TENANT_FIELDS) {
		const value = after[name].trim();
		if (value !== before[name]) body[name] = value === '' ? null : valueOf(value, kind);
	}
	return body;
}

/** A text that is no number is sent as it is: the API says what is wrong with it. */
function valueOf(given: string, kind: (typeof TENANT_FIELDS)[number]['kind']): string | number | boolean {
	if (kind === 'boolean') return given === 'true';
	const value = Number(given);
	return kind === 'number' && Number.isFinite(value) ? value : given;
}

/** The field of a form that an error names: `models` for `models.0`. Undefined if it names none of them. */
export function fieldOf(param: string | undefined, fields: readonly string[]): string | undefined {
	return fields.find((field) => param === field || param?.startsWith(`${field}.`) || param?.startsWith(`${field}[`));
}
