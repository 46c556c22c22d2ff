"""Records of every kind that a mirror can meet, and the clusters they live on."""
