"""The entry point of the Hugging Face Space: the web app of the metric."""

if __name__ == "__main__":  # worker processes import this file, too, and need no page
    from anls_eval.app.temporary_files import temporary_files

    with temporary_files():
        from anls_eval.app import child

        child.prepare()  # while the page is imported, which takes longer
        from anls_eval.app.blocks import launch

        launch()
