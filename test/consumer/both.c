/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Both copies, linked into one program.
 */
int run_acme(void);
int run_beta(void);

int main(void)
{
    return run_acme() || run_beta() || run_acme();
}
