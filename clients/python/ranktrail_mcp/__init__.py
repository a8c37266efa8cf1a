"""A server of the Model Context Protocol over both services: an agent asks a memory and sees why it got what it got."""
