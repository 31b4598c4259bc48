"""The completion scripts of the shells: each asks the program itself what fits."""

from __future__ import annotations

from typing import Final

#: bash cuts words at = and :, hence the whole line goes to the program, with bash's last word.
_BASH: Final = r"""
_aerolog_complete() {
    local kind text meaning current="$2"
    COMPREPLY=()
    while IFS=$'\t' read -r kind text meaning; do
        case "$kind" in
            dir)
                compopt -o filenames
                mapfile -t COMPREPLY < <(compgen -d -- "$current")
                ;;
            file)
                compopt -o filenames
                mapfile -t COMPREPLY < <(compgen -f -- "$current")
                ;;
            word)
                [[ "$text" == *= ]] && compopt -o nospace
                COMPREPLY+=("$text")
                ;;
        esac
    done < <("${1/#\~/$HOME}" __complete bash "${COMP_LINE:0:COMP_POINT}" "$current" 2>/dev/null)
}
complete -F _aerolog_complete aerolog
"""

_ZSH: Final = r"""#compdef aerolog
_aerolog() {
    local kind text meaning
    local -a shown=() open=()
    while IFS=$'\t' read -r kind text meaning; do
        case "$kind" in
            dir)
                compset -P '--*='
                _path_files -/
                return
                ;;
            file)
                compset -P '--*='
                _path_files
                return
                ;;
            word)
                if [[ "$text" == *= ]]; then
                    open+=("${text//:/\\:}:$meaning")
                else
                    shown+=("${text//:/\\:}:$meaning")
                fi
                ;;
        esac
    done < <("${~words[1]}" __complete zsh "${(Q@)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)
    (( $#shown )) && _describe -V 'aerolog' shown
    (( $#open )) && _describe -V 'aerolog' open -S ''
}
if [[ "$funcstack[1]" == _aerolog ]]; then
    _aerolog "$@"
else
    compdef _aerolog aerolog
fi
"""

_FISH: Final = r"""
function __aerolog_complete
    set -l words (commandline -opc)
    set -l last (commandline -ct)
    set -l typed (string replace -r '^--[^=]+=' '' -- $last)
    set -l before (string match -r '^--[^=]+=' -- $last; or echo '')
    for line in ($words[1] __complete fish $words[2..-1] "$last" 2>/dev/null)
        set -l parts (string split \t -- $line)
        switch $parts[1]
            case dir
                printf '%s\n' $before(__fish_complete_directories "$typed" '')
            case file
                printf '%s\n' $before(__fish_complete_path "$typed")
            case word
                printf '%s\t%s\n' $parts[2] $parts[3]
        end
    end
end
complete -c aerolog -f -a '(__aerolog_complete)'
"""

#: Shell -> the script that it reads.
SCRIPTS: Final = {"bash": _BASH.lstrip(), "zsh": _ZSH, "fish": _FISH.lstrip()}
