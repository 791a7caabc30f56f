/* SPDX-License-Identifier: Apache-2.0 */
/*
 * step.h - step_begin() and step_end() set and clear the trap flag: between the
 * two each instruction is followed by SIGTRAP. In assembly, so that the CFI is
 * right.
 */
#ifdef __cplusplus
extern "C" {
#endif
void step_begin(void);
void step_end(void);
#ifdef __cplusplus
}
#endif

__asm__(".text\n"
	".macro change_flags name, instruction, operand\n"
	".type \\name, @function\n"
	"\\name:\n"
	".cfi_startproc\n"
	"pushfq\n"
	".cfi_adjust_cfa_offset 8\n"
	"\\instruction $\\operand, (%rsp)\n"
	"popfq\n"
	".cfi_adjust_cfa_offset -8\n"
	"ret\n"
	".cfi_endproc\n"
	".size \\name, . - \\name\n"
	".endm\n"
	"change_flags step_begin, orq, 0x100\n"
	"change_flags step_end, andq, ~0x100\n");
