/* SPDX-License-Identifier: MIT */
#include "symbolizer/elf_machine.h"

#include <gelf.h>
#include <stddef.h>

static const struct known_machine {
    uint16_t number;
    struct elf_machine machine;
} known_machines[] = {
    {EM_ARM, {.mode_bits = 1, .call_bytes = 1}},
    {EM_MIPS, {.mode_bits = 1, .call_bytes = 8}},
};

struct elf_machine elf_machine_of(Elf *elf)
{
    GElf_Ehdr header;

    if (elf && gelf_getehdr(elf, &header))
        for (size_t i = 0; i < sizeof(known_machines) / sizeof(known_machines[0]); i++)
            if (known_machines[i].number == header.e_machine)
                return known_machines[i].machine;
    return (struct elf_machine){.mode_bits = 0, .call_bytes = 1};
}
