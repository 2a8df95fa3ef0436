/** The name that people see. */
export const BRAND = "Portico";
