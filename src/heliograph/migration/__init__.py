"""What other tools were told, said as an mm2.properties file."""
