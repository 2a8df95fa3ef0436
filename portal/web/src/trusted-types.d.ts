/** What of Trusted Types the console uses. */
interface TrustedTypePolicy {
  createHTML(text: string): object;
}
interface TrustedTypePolicyFactory {
  createPolicy(name: string, rules: { createHTML: (text: string) => string }): TrustedTypePolicy;
}
declare var trustedTypes: TrustedTypePolicyFactory | undefined;
