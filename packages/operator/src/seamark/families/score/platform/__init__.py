"""What the platform team configures: profiles, backends, provisioners, policies, and how they are chosen."""
