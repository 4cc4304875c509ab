// Amounts are whole numbers of minor units, up to 64 bits; people read and write major ones.

function formatOf(currency: string): Intl.NumberFormat {
  return new Intl.NumberFormat("en", { style: "currency", currency, currencyDisplay: "narrowSymbol" });
}

function digitsOf(currency: string): number {
  return formatOf(currency).resolvedOptions().maximumFractionDigits ?? 2;
}

// "€12.50", "€12" for a whole amount.
export function money(minor: bigint, currency: string): string {
  const digits = digitsOf(currency);
  const text = plain(minor, currency);
  const [, fraction = ""] = text.split(".");
  const whole = /^0*$/.test(fraction);
  const format = new Intl.NumberFormat("en", {
    style: "currency",
    currency,
    currencyDisplay: "narrowSymbol",
    minimumFractionDigits: whole ? 0 : digits,
    maximumFractionDigits: digits,
  });
  // As text, which keeps every digit; the types of the language do not know that yet.
  return format.format(text as unknown as number);
}

export const signed = (minor: bigint, currency: string): string =>
  minor > 0n ? `+${money(minor, currency)}` : minor < 0n ? `−${money(-minor, currency)}` : money(0n, currency);

// "12.50", for a field.
export function plain(minor: bigint, currency: string): string {
  const digits = digitsOf(currency);
  const sign = minor < 0n ? "-" : "";
  const text = (minor < 0n ? -minor : minor).toString().padStart(digits + 1, "0");
  return digits ? `${sign}${text.slice(0, -digits)}.${text.slice(-digits)}` : sign + text;
}

// What somebody wrote, in minor units; nothing where it is no amount.
export function parse(text: string, currency: string): bigint | undefined {
  const digits = digitsOf(currency);
  const found = /^(\d{1,15})(?:[.,](\d+))?$/.exec(text.trim());
  if (!found || (found[2] ?? "").length > digits) return undefined;
  return BigInt(found[1]! + (found[2] ?? "").padEnd(digits, "0"));
}
