"""Reading Python decisions without running them: a small symbolic interpreter."""
