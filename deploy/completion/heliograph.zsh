#compdef heliograph

_heliograph_completion() {
  eval $(env _TYPER_COMPLETE_ARGS="${words[1,$CURRENT]}" _HELIOGRAPH_COMPLETE=complete_zsh heliograph)
}

compdef _heliograph_completion heliograph
